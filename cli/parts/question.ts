/** What may be asked of a person. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

export interface Question {
  readonly label: string;
  readonly secret?: boolean;
  readonly choices?: readonly Choice[];
  /** Taken when nothing is typed. */
  readonly fallback?: string;
  /** An empty answer is one. */
  readonly optional?: boolean;
}
