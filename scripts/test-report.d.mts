interface TestResult {
  readonly name: string
  readonly status: string
  readonly startTime?: number
  readonly endTime?: number
  readonly message?: string
  readonly assertionResults: readonly {
    readonly fullName: string
    readonly status: string
    readonly failureMessages?: readonly string[]
  }[]
}

export function failuresIn(report: { readonly testResults: readonly TestResult[] }, root: string): string[]
export function slowestIn(
  report: { readonly testResults: readonly TestResult[] },
  root: string,
): { readonly file: string; readonly seconds: number }[]
