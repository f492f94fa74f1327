/** One alert, and what a target makes of it. */
import type { AlertKindName } from '../../contract/alert-kinds.ts';
import type { OptionsService } from '../options/service.ts';

export interface Alert {
  readonly kind: AlertKindName | 'test';
  /** What it is about, for programs: a channel's number, a model's name. */
  readonly subject: string;
  readonly site: string;
  readonly title: string;
  readonly text: string;
  /** Epoch seconds. */
  readonly at: number;
}

/** One call that sends it. */
export interface AlertCall {
  readonly url: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ReadOption = OptionsService['get'];
