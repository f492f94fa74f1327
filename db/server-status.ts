/** State of a database server that several machines share. */

export interface ServerStatus {
  /** Name of the newest migration. */
  readonly schema: string;
  readonly version: string;
  readonly fsync: string;
  readonly fullPages: string;
  readonly autovacuum: string;
  readonly isolation: string;
  readonly standbyNames: string;
  readonly standbys: number;
  readonly syncStandbys: number;
  /** Standbys whose state this role may not see. */
  readonly hiddenStandbys: number;
  readonly maxConnections: number;
  readonly connections: number;
  readonly ownConnections: number;
  readonly encrypted: boolean;
  readonly local: boolean;
  readonly bytes: number;
  /** By which this machine's clock is ahead of the server's. */
  readonly clockLeadMs: number;
  /** Whether a notification of one connection reaches another that listens. */
  readonly isListening: boolean;
  /** Whether an address is configured that bypasses a pooler. */
  readonly direct: boolean;
  /** Partitions of the log for this month and the next. */
  readonly monthsMissing: readonly string[];
  /** Log rows that lie in no month, counted up to 1,000. */
  readonly unassignedLogs: number;
  readonly liveNodes: number;
  readonly versions: number;
  /** The connection that has kept a writing transaction open for longest. */
  readonly oldest: {
    readonly pid: number;
    readonly name: string;
    readonly database: string;
    readonly seconds: number;
  } | null;
}
