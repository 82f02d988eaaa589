/** Where the server writes what is worth a line. Fields are values, never part of the text: no id can forge a line. */
export type Log = (message: string, fields?: Readonly<Record<string, unknown>>) => void

export const noLog: Log = () => {}

/** One line of JSON an entry: newlines and control characters in values come out escaped. */
export function jsonLines(write: (line: string) => void): Log {
  return (message, fields) => write(JSON.stringify({ time: new Date().toISOString(), message, ...fields }))
}
