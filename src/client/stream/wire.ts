import type { ErrorBody } from '../../protocol/index.ts'

/** What carries frames: a WebSocket, or what the simulator has in its place. In order, and each once at most. */
export interface Wire {
  /** `taken`: called when it has left. */
  send(text: string, taken: () => void): void
  /** Bytes that were sent and have not left. */
  readonly unsent: number
  close(): void
}

/** Why there is no wire, or none any more. */
export interface WireEnd {
  readonly error: unknown
  /** Baton itself said no. */
  readonly refusal?: ErrorBody | undefined
  /** Somebody answered, but no WebSocket can be had there. */
  readonly isForbidden?: boolean
  /** No server has said anything. */
  readonly isSilent?: boolean
}

/** Told what happens to a wire. After `onEnd` nothing more is told. */
export interface WireHandlers {
  onText(text: string): void
  /** A sign of life that carries nothing. */
  onBeat(): void
  onEnd(end: WireEnd): void
}

/** Opens a wire to a server. What is sent before it stands is sent when it does. */
export type Dial = (base: URL, handlers: WireHandlers) => Wire
