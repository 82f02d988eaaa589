import { appendFileSync, closeSync, openSync } from 'node:fs'
import { harmlessJson } from '@baton-lock/protocol'
import type { Log } from '@baton-lock/service'
import type { AuditEntry } from './audit.ts'

interface AuditFileOptions {
  readonly path: string
  /** Where it is said that the file cannot be written. */
  readonly log: Log
  /** The time of day, for the entries. */
  readonly wallMs: () => number
}

/**
 * What operators do, a line of JSON each, at the end of a file. Written before the answer goes out. Nothing of it ends a
 * line, as `harmlessJson` escapes what others wrote.
 */
export class AuditFile {
  readonly #options: AuditFileOptions
  #descriptor: number

  /** Throws where the file cannot be opened. One that is not there is made for its owner alone. */
  constructor(options: AuditFileOptions) {
    this.#options = options
    this.#descriptor = open(options.path)
  }

  readonly write = (entry: AuditEntry): void => {
    const { log, wallMs } = this.#options
    try {
      appendFileSync(this.#descriptor, `${harmlessJson({ time: new Date(wallMs()).toISOString(), ...entry })}\n`)
    } catch (error) {
      // It has been done: better known from the log than not at all.
      log.error('audit file cannot be written', { audit: true, ...entry, error: (error as Error).message })
    }
  }

  /** After the file was moved away: goes on in a new one of the same name. Where there cannot be one, in the old one. */
  reopen(): void {
    try {
      const next = open(this.#options.path)
      closeSync(this.#descriptor)
      this.#descriptor = next
    } catch (error) {
      this.#options.log.error('audit file cannot be opened again', { error: (error as Error).message })
    }
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

function open(path: string): number {
  return openSync(path, 'a', 0o600)
}
