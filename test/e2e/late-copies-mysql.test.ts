// needs: mariadb
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { afterAll, beforeAll } from 'vitest'
import { killRest } from './cli-process.ts'
import { lateCopies } from './late-copies.ts'

let mariadb: Mariadb
let databases = 0
beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(async () => {
  killRest()
  await mariadb.stop()
})

lateCopies(() => mariadb.createDatabase(`late_${++databases}`))
