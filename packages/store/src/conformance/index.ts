export { type BackendConformanceOptions, backendConformance } from './backend-conformance.ts'
export { type Random, seededRandom } from './random.ts'
export { SimulatedClock, settled } from './simulated-clock.ts'
export { type ConformanceOptions, type ConformanceStore, storeConformance } from './store-conformance.ts'
