/** Where an operator is told something. Fields are values, never part of the message: no id can forge a line. */
export type Log = (message: string, fields?: Readonly<Record<string, unknown>>) => void

export const noLog: Log = () => {}
