/** Another process has this directory. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse'
  /** `undefined` if that process does not answer. */
  readonly pid: number | undefined

  constructor(directory: string, pid: number | undefined) {
    const who = pid === undefined ? 'another process, which does not answer' : `process ${pid}`
    super(`${directory} is in use by ${who}; end that one, or choose another directory`)
    this.pid = pid
  }
}

export interface Damage {
  readonly file: string
  /** `undefined` if the whole file is missing. */
  readonly offset?: number
  /** Which of the file's records, counted from 1. */
  readonly record?: number
  readonly what: string
}

const RESTORE = 'restore the last backup with `baton store restore`, or clear the store (docs/stores.md says how)'

/** What is on the disk is not what was written there. */
export class DamagedStore extends Error {
  override readonly name = 'DamagedStore'
  readonly file: string
  readonly offset: number | undefined

  constructor({ directory, file, offset, record, what }: Damage & { readonly directory: string }, remedy = RESTORE) {
    const where = offset === undefined ? '' : ` at byte ${offset}${record === undefined ? '' : `, record ${record}`}`
    super(`${file} in ${directory} is damaged${where}: ${what}; ${remedy}`)
    this.file = file
    this.offset = offset
  }
}
