import { createConnection } from 'mysql2/promise'
import { test } from 'vitest'
import { storeConformance } from '../../testing/index.ts'
import { openMysqlStore } from './index.ts'

let stores = 0
storeConformance({
  name: 'mysql',
  open: async ({ clock, policy }) => {
    const admin = await createConnection({ host: '127.0.0.1', port: 33306, user: 'root' })
    const database = `conf_${process.pid}_${++stores}`
    await admin.query(`CREATE DATABASE ${database}`)
    admin.destroy()
    return openMysqlStore({ url: `mysql://root@127.0.0.1:33306/${database}`, clock, policy })
  },
  test,
})
