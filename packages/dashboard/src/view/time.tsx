import { formatDuration } from '@baton-lock/protocol/text/duration'
import { dashboard } from './state.ts'

/** By the clock of the server; whoever calls it while rendering is rendered again as it moves on. */
export function nowMs(): number {
  return dashboard.shownMs.value
}

/** Whole seconds: nothing flickers. */
export function ageText(ms: number): string {
  return ms < 9_950 ? `${Math.max(0, Math.floor(ms / 1_000))}s` : formatDuration(ms)
}

/** How long ago, or for how long. */
export function Age({ sinceMs }: { sinceMs: number }) {
  return <time>{ageText(nowMs() - sinceMs)}</time>
}

/** How long still. */
export function Left({ untilMs }: { untilMs: number }) {
  return <time>{ageText(Math.max(0, untilMs - nowMs()))}</time>
}

/** The time of day, here. */
export function clockText(atMs: number): string {
  return new Date(atMs).toLocaleTimeString(undefined, { hour12: false })
}
