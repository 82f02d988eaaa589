interface Scoped {
  /** Nothing refers to the scope any more. */
  onScopeDropped(): void
}

const dropped = new FinalizationRegistry<Scoped>((scoped) => scoped.onScopeDropped())

/** Tells the grant of a scope when the scope has been garbage-collected. */
export function watchScope(scope: object, scoped: Scoped): void {
  dropped.register(scope, scoped)
}
