export { type MemoryStoreOptions, openMemoryStore } from './memory-store.ts'
