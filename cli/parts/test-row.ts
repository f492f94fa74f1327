/** How the test of one channel ended. */
export interface TestRow {
  readonly id: number;
  readonly name: string;
  readonly success: boolean;
  readonly message: string;
  /** Seconds. */
  readonly time: number;
}
