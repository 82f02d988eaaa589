/** What flags and environment may say; both as text, as they come. */
export interface ServeSettings {
  readonly config?: string
  readonly host?: string
  readonly port?: string
  readonly store?: string
  /** A TOML file of `[[tokens]]`. */
  readonly tokens?: string
  readonly insecure?: boolean
  /** Names, by commas. */
  readonly allowedHost?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly tlsCa?: string
  readonly queueing?: boolean
  readonly exclusion?: string
  /** In bytes, or like `64KiB`. */
  readonly resultLimit?: string
  readonly logLevel?: string
  readonly logFormat?: string
}
