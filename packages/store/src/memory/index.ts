export { openMemoryStore } from './memory-store.ts'
