export { type BackendConformanceOptions, backendConformance } from './backend-conformance.ts'
export { checkHistory, type Violation } from './check-history.ts'
export { FaultyStore, type StoreFaults } from './faulty-store.ts'
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
export { type Action, type Fault, filePlanOf, type Plan, planOf, type Swarm } from './simulator/plan.ts'
export { type SeedResult, type SeedsOptions, simulateSeeds } from './simulator/seeds.ts'
export { type Shrunk, shrink } from './simulator/shrink.ts'
export { type Counts as SimulationCounts, type RunResult, simulate } from './simulator/simulate.ts'
export { type ConformanceOptions, type ConformanceStore, storeConformance } from './store-conformance.ts'
