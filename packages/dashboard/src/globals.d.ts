/** Some files of the protocol, whose types are used here, call it; nothing here does. */
declare const Buffer: { byteLength(text: string): number }

declare module '*.css'
