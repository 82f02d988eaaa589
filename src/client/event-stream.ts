import { createParser } from 'eventsource-parser'
import type { WireEvent } from '../protocol/index.ts'

/** Reads server-sent events until the body ends. */
export async function readEvents(
  body: AsyncIterable<Uint8Array>,
  { onEvent, onChunk }: { onEvent: (event: WireEvent, id?: string) => void; onChunk: () => void },
): Promise<void> {
  const decoder = new TextDecoder()
  const parser = createParser({
    onEvent: ({ data, id }) => onEvent(JSON.parse(data) as WireEvent, id === '' ? undefined : id),
  })
  for await (const chunk of body) {
    onChunk()
    parser.feed(decoder.decode(chunk, { stream: true }))
  }
}
