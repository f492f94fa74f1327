/** Messages between the overload check and its processes; all times are milliseconds. */

/** A rate for a while. */
export interface Phase {
  readonly name: string;
  readonly perSecond: number;
  readonly ms: number;
}

export interface LoadOrder {
  readonly port: number;
  readonly token: string;
  readonly model: string;
  readonly connections: number;
  /** One after the other without a pause; none = each connection asks again as soon as it is answered, for `ms`. */
  readonly phases: readonly Phase[];
  readonly ms: number;
}

export interface Distribution {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface PhaseReport {
  readonly name: string;
  /** Requests due in it. */
  readonly due: number;
  /** Those that found no free connection at once. */
  readonly queued: number;
  readonly completed: number;
  readonly rejected: number;
  /** Answers that are neither, and requests without one. */
  readonly failed: number;
  /** Of those served. */
  readonly fromDue: Distribution;
  readonly fromWritten: Distribution;
  /** Of those refused. */
  readonly rejectedAfterWrite: Distribution;
  /** The last refusal that came, from the phase's beginning; 0 = none. */
  readonly lastRefusal: number;
}

export interface LoadReport {
  readonly phases: readonly PhaseReport[];
  /** Served per second, where there are no phases. */
  readonly perSecond: number;
  /** How much later than due the process's own loop was. */
  readonly lateness: Distribution;
}

export interface UpstreamOrder {
  readonly delayMs: number;
}
export interface UpstreamReady {
  /** Answers after the delay. */
  readonly slow: string;
  /** Answers at once. */
  readonly instant: string;
}
export interface UpstreamReport {
  readonly requested: number;
  readonly lateness: Distribution;
}

export interface ReaderOrder {
  readonly url: string;
  readonly everyMs: number;
}
export interface ReaderReport {
  readonly requested: number;
  readonly failed: number;
  readonly times: Distribution;
  readonly lateness: Distribution;
}
