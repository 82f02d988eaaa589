import { useState } from 'preact/hooks'
import { oneLine } from '../../protocol/harmless.ts'
import { cutId } from '../model/cut.ts'

/** An id that somebody chose: as text, harmless, cut in the middle where it is long. */
export function Id({ id, chars = 64, copy = false }: { id: string; chars?: number; copy?: boolean }) {
  return (
    <>
      <span class="id" title={oneLine(id)} dir="ltr">
        {cutId(id, chars)}
      </span>
      {copy && <Copy text={id} what="the id" />}
    </>
  )
}

/** Copies a text as it is, and says so. */
export function Copy({ text, what, label }: { text: string; what: string; label?: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      setState('failed')
    }
  }
  const said = { ready: label ?? 'Copy', copied: 'Copied', failed: 'Not allowed' }[state]
  return (
    <button type="button" class="copy" aria-label={`Copy ${what}`} onClick={copy} onBlur={() => setState('ready')}>
      {said}
    </button>
  )
}
