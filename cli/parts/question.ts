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
  /** Which question of how many: `2/8`. */
  readonly step?: string;
  /** What may be typed, and what an empty answer means. */
  readonly hint?: string;
  /** Several choices may be picked: the answer has commas between them. */
  readonly several?: boolean;
  /** Choices are proposals: anything else may be typed. */
  readonly open?: boolean;
  /** Several lines that are pasted are one answer of several lines. */
  readonly lines?: boolean;
  /** @returns what is wrong with an answer, in the reader's language: it is asked for again. */
  readonly check?: (answer: string) => string | null;
}

/** Words of a question beside its own. */
export interface QuestionWords {
  readonly noMatch: string;
  readonly severalHint: string;
  readonly selected: (names: readonly string[]) => string;
  readonly lines: (count: number) => string;
  readonly needed: string;
  /** Several lines were pasted where one fits. */
  readonly oneLine: string;
  /** Nothing was picked of several: all of them. */
  readonly all: string;
}

/** Where questions are shown and answered. */
export interface Surface {
  /** @throws AppError cancelled, input_needed. */
  ask(question: Question): Promise<string>;
  note(text: string): void;
  during<Result>(work: Promise<Result>, doing: string): Promise<Result>;
  close(): Promise<void>;
}
