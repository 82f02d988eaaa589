import type { Database, DatabaseOptions } from './database.ts'
import { EtcdDatabase } from './etcd-database.ts'
import { MysqlDatabase } from './mysql-database.ts'

export function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.store.startsWith('etcd:') ? EtcdDatabase.open(options) : MysqlDatabase.open(options)
}
