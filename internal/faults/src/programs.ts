import { fileURLToPath } from 'node:url'

/** Programs of the build. This module lies equally deep as a source and in internal/faults/dist. */
const path = (relative: string): string => fileURLToPath(new URL(`../../../${relative}`, import.meta.url))
const ofFaults = (name: string): string => path(`internal/faults/dist/${name}.js`)

export const PROGRAMS = {
  baton: path('packages/baton-lock/dist/main.js'),
  recordedServer: ofFaults('recorded-server'),
  simulator: ofFaults('simulator'),
  soak: ofFaults('soak'),
  soakClient: ofFaults('soak-client'),
  soakObserver: ofFaults('soak-observer'),
  killRestart: ofFaults('kill-restart'),
  contentPulls: ofFaults('content-pulls'),
  attacks: ofFaults('attacks'),
  attacker: ofFaults('attack-attacker'),
  victim: ofFaults('attack-victim'),
} as const
