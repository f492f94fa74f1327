/** Which of Anthropic's features a cloud that hosts its models takes. */
import type { WithSource } from './row.ts';

export interface BetaRow extends WithSource {
  /** The feature's name in the client's header. */
  readonly beta: string;
  /** Models that take it here. */
  readonly models: RegExp;
  /** Its name here, where it is another. */
  readonly called?: string;
}

export interface GateRow extends WithSource {
  /** Path in the body; `*` = each of a list. */
  readonly member: string;
  /** Only these values of it; absent = all. */
  readonly value?: RegExp;
  /** A feature that must be among the request's; absent = it is refused whatever is asked for. */
  readonly beta?: string;
  /** Models that take it without. */
  readonly models?: RegExp;
}
