import type { WireEvent } from '../protocol/index.ts'

/** Reads server-sent events until the body ends. */
export async function readEvents(
  body: AsyncIterable<Uint8Array>,
  {
    onEvent,
    onChunk,
    onRetry,
  }: {
    onEvent: (event: WireEvent, id?: string) => void
    onChunk: () => void
    /** Told how soon the server wants to be asked again. */
    onRetry: (retryMs: number) => void
  },
): Promise<void> {
  // Most clients of a command line are done before they need a stream.
  const { createParser } = await import('eventsource-parser')
  const decoder = new TextDecoder()
  const parser = createParser({
    onRetry,
    onEvent: ({ data, id }) => onEvent(JSON.parse(data) as WireEvent, id === '' ? undefined : id),
  })
  for await (const chunk of body) {
    onChunk()
    parser.feed(decoder.decode(chunk, { stream: true }))
  }
}
