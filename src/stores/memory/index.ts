export { type MemoryStoreOptions, openMemoryStore, type StepTaken } from './memory-store.ts'
