/** Another process has this directory. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse'
  /** Nothing where it does not say. */
  readonly pid: number | undefined

  constructor(directory: string, pid: number | undefined) {
    const who = pid === undefined ? 'another process, which does not answer' : `process ${pid}`
    super(`${directory} is in use by ${who}; end that one, or choose another directory`)
    this.pid = pid
  }
}

/** The directory was written by a newer version of Baton. */
export class NewerFormat extends Error {
  override readonly name = 'NewerFormat'
}

/** What is on the disk is not what was written there. */
export class DamagedStore extends Error {
  override readonly name = 'DamagedStore'
  readonly file: string
  /** Where in the file; nothing where the whole file is missing. */
  readonly offset: number | undefined

  constructor({ directory, file, offset, record, what }: Damage & { readonly directory: string }) {
    const where = offset === undefined ? '' : ` at byte ${offset}${record === undefined ? '' : `, record ${record}`}`
    super(
      `${file} in ${directory} is damaged${where}: ${what}; ` +
        `say \`baton store check ${directory}\` for more, \`baton store repair ${directory}\` to go on without what is lost`,
    )
    this.file = file
    this.offset = offset
  }
}

export interface Damage {
  readonly file: string
  readonly offset?: number
  /** Which of the file's records, counted from 1. */
  readonly record?: number
  readonly what: string
}
