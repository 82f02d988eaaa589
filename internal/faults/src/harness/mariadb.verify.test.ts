// needs: mariadb
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { startMariadb } from './mariadb.ts'

async function rows(url: string, sql: string): Promise<unknown> {
  const connection = await createConnection(url)
  try {
    return (await connection.query(sql))[0]
  } finally {
    await connection.end()
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a throw-away MariaDB keeps its data through a kill, is found where it was, and leaves nothing', async () => {
  const mariadb = await startMariadb()
  onTestFinished(() => mariadb.stop())
  const url = await mariadb.createDatabase('one_schema')
  await rows(url, 'CREATE TABLE kept (id INT PRIMARY KEY)')
  await rows(url, 'INSERT INTO kept VALUES (7)')
  const first = mariadb.pid!
  await mariadb.kill()
  expect(isRunning(first)).toBe(false)
  await expect(rows(url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })

  await mariadb.restart()
  expect(mariadb.pid).not.toBe(first)
  expect(await rows(url, 'SELECT id FROM kept')).toEqual([{ id: 7 }])

  const [pid, folder] = [mariadb.pid!, dirname(mariadb.socket)]
  await mariadb.stop()
  expect(isRunning(pid)).toBe(false)
  expect(existsSync(folder)).toBe(false)
})

test('the user of a database has no rights beyond it', async () => {
  const mariadb = await startMariadb()
  onTestFinished(() => mariadb.stop())
  const url = await mariadb.createDatabase('a_b')
  await mariadb.createDatabase('axb')
  await rows(url, 'CREATE TABLE mine (id INT)')
  await expect(rows(url, 'CREATE TABLE axb.theirs (id INT)')).rejects.toThrow(/denied/)
  await expect(rows(url, 'CREATE DATABASE another')).rejects.toThrow(/denied/)
  await expect(rows(url, 'SELECT * FROM mysql.global_priv')).rejects.toThrow(/denied/)
})

test('while it is stopped it takes requests and answers none, and then answers them', async () => {
  const mariadb = await startMariadb()
  onTestFinished(() => mariadb.stop())
  const url = await mariadb.createDatabase('d')
  const connection = await createConnection(url)
  onTestFinished(() => connection.destroy())
  await mariadb.pause()
  const answer = connection.query('SELECT 1 AS one').then(([found]) => found)
  const early = await Promise.race([answer, new Promise((resolve) => setTimeout(() => resolve('nothing'), 300))])
  expect(early).toBe('nothing')
  await mariadb.resume()
  expect(await answer).toEqual([{ one: 1 }])
})

test('one that ends by itself says so, and why', async () => {
  const mariadb = await startMariadb()
  onTestFinished(() => mariadb.stop())
  process.kill(mariadb.pid!, 'SIGTERM')
  await expect.poll(() => mariadb.pid).toBe(undefined)
  await expect(mariadb.query('SELECT 1')).rejects.toThrow(/^MariaDB has ended by itself, by 0: .*Shutdown complete/s)
  await mariadb.restart()
  expect(await mariadb.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('one that is gone when it should go on is started again', async () => {
  const mariadb = await startMariadb()
  onTestFinished(() => mariadb.stop())
  const url = await mariadb.createDatabase('d')
  await mariadb.pause()
  process.kill(mariadb.pid!, 'SIGTERM')
  const warned = once(process, 'warning')
  await mariadb.resume()
  expect(await rows(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  expect(String((await warned)[0])).toContain('MariaDB has ended by itself, by 0')
})
