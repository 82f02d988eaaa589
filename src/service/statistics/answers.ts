import type { ErrorCode, ServiceRequest } from '../../protocol/index.ts'

/** What was answered: requests by their type, refusals by their code. */
export class Answers {
  readonly requests: Partial<Record<ServiceRequest['type'], number>> = {}
  readonly refusals: Partial<Record<ErrorCode, number>> = {}

  /** A request has its reply. */
  count(type: ServiceRequest['type'], { status, code }: { readonly status: string; readonly code?: ErrorCode }): void {
    this.requests[type] = (this.requests[type] ?? 0) + 1
    if (status === 'refused' && code !== undefined) this.refused(code)
  }

  /** Something was refused, whether it has become a request or not. */
  refused(code: ErrorCode): void {
    this.refusals[code] = (this.refusals[code] ?? 0) + 1
  }
}
