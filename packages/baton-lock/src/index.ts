export * from '@baton-lock/client'
export { open } from './open.ts'
