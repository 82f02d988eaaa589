export { type BackendConformanceOptions, backendConformance } from './backend-conformance.ts'
export { checkHistory, type Violation } from './check-history.ts'
export { FencedResource } from './fenced-resource.ts'
export { describeRecord, type History, type HistoryRecord } from './history.ts'
export {
  type LinearizabilityOptions,
  type Linearization,
  linearize,
  type Operation,
  type Stuck,
} from './linearizability.ts'
export { type Random, seededRandom } from './random.ts'
export { SimulatedClock, settled } from './simulated-clock.ts'
export { type ConformanceOptions, storeConformance } from './store-conformance.ts'
