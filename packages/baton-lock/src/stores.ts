/** To open a store by its URL, and to write one: the contract, the rules to run, and the two engines. */
export { completePolicy, defaultPolicy, type Step, step } from '@baton-lock/core'
export * from '@baton-lock/store'
export { openFileStore } from '@baton-lock/store/file'
export { openMemoryStore } from '@baton-lock/store/memory'
export * from '@baton-lock/store/remote'
export { openStore } from './store-table.ts'
