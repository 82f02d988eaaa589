export { type Random, seededRandom } from './random.ts'
export { SimulatedClock, settled } from './simulated-clock.ts'
export { type ConformanceOptions, storeConformance } from './store-conformance.ts'
