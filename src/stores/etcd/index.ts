export { PolicyMismatch } from '../remote/index.ts'
export { checkEtcdStore } from './check.ts'
export { type EtcdStoreOptions, openEtcdBackend, openEtcdStore } from './etcd-store.ts'
export { raiseFences } from './raise-fences.ts'
