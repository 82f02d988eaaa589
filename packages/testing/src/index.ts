export * from '@baton-lock/store/conformance'
export { FencedResource } from './fenced-resource.ts'
