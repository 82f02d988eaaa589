import { expect, test } from 'vitest'
import { loadLock } from './open-store.ts'

const failing = (code: string, message: string) => {
  const error = Object.assign(new Error(message), { code })
  return { error, load: () => Promise.reject(error) }
}

test.each(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])(
  'if baton-lock is missing, the error says which command installs it: %s',
  async (code) => {
    const { error, load } = failing(code, "Cannot find package 'baton-lock' imported from /x/main.js")
    await expect(loadLock(load)).rejects.toMatchObject({
      code: 'bad-config',
      message: 'store: a lock without a server needs the package baton-lock: npm install baton-lock',
      cause: error,
    })
  },
)

test.each([
  ['ERR_MODULE_NOT_FOUND', "Cannot find package 'ws' imported from /x/node_modules/baton-lock/dist/index.js"],
  ['ERR_PACKAGE_PATH_NOT_EXPORTED', 'No "exports" main defined in \'/x/node_modules/baton-lock/package.json\''],
  ['ERR_DLOPEN_FAILED', "the package 'baton-lock' cannot be loaded"],
])('any other failure to load it is not called a missing package: %s', async (code, message) => {
  const { error, load } = failing(code, message)
  await expect(loadLock(load)).rejects.toBe(error)
})
