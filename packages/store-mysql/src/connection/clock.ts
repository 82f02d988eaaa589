import type { Clock } from '@baton-lock/store/store'
import type { Timing } from '@baton-lock/store/timing'

/** The clock that counts: as an expression for the database, and as far as it is known here. */
export interface DatabaseClock {
  /** The time in milliseconds since 1970. */
  readonly sql: string
  nowMs(): number
  /** The database has said what time it is. */
  heard(nowMs: number): void
}

/** The database's own. Here it is only guessed, from when it was last heard, to know when to ask again. */
export function databaseClock({ monoMs }: Timing): DatabaseClock {
  let aheadMs = 0
  return {
    sql: 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)',
    nowMs: () => Math.floor(monoMs() + aheadMs),
    heard: (nowMs) => {
      aheadMs = nowMs - monoMs()
    },
  }
}

/** One that is given from outside, and told to the database with every question. */
export function givenClock(clock: Clock): DatabaseClock {
  return {
    get sql() {
      return `${clock.nowMs()}`
    },
    nowMs: () => clock.nowMs(),
    heard: () => {},
  }
}
