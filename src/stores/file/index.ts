export { type CheckReport, checkFileStore, repairFileStore } from './care.ts'
export { DamagedStore, DirectoryInUse, NewerFormat } from './errors.ts'
export { type FileStoreOptions, openFileStore } from './file-store.ts'
