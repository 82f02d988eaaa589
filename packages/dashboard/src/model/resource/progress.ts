import type { Json } from '@baton-lock/core'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import { shortJson } from '@baton-lock/protocol/text/short-json'

/** How far a holder says it is. */
interface Progress {
  /** From 0 to 1; nothing where it cannot be told. */
  readonly share?: number
  readonly text: string
}

/** Holders say what they like; these are the shapes that a bar can be made of. */
export function progressOf(progress: Json): Progress {
  if (typeof progress === 'number') return ofNumber(progress)
  if (typeof progress === 'string') {
    const percent = /^\s*(\d+(?:\.\d+)?)\s*%/.exec(progress)?.[1]
    return { ...(percent !== undefined && shareOf(Number(percent) / 100)), text: oneLine(progress).slice(0, 80) }
  }
  if (typeof progress !== 'object' || progress === null || Array.isArray(progress)) return { text: shortJson(progress) }
  const said = progress as { readonly [name: string]: Json }
  const number = (...names: string[]) => names.map((name) => said[name]).find((value) => typeof value === 'number')
  const percent = number('percent', 'pct')
  if (percent !== undefined) return { ...shareOf(percent / 100), text: `${Math.round(percent)} %` }
  const done = number('bytes', 'done', 'current', 'completed', 'offset')
  const total = number('total', 'totalBytes', 'size', 'of')
  if (done === undefined || total === undefined || total <= 0) return { text: shortJson(progress) }
  return { ...shareOf(done / total), text: `${Math.round((100 * done) / total)} %` }
}

function ofNumber(value: number): Progress {
  if (value >= 0 && value <= 1) return { ...shareOf(value), text: `${Math.round(value * 100)} %` }
  return value > 1 && value <= 100
    ? { ...shareOf(value / 100), text: `${Math.round(value)} %` }
    : { text: String(value) }
}

function shareOf(share: number): { share: number } | undefined {
  return Number.isFinite(share) ? { share: Math.min(1, Math.max(0, share)) } : undefined
}
