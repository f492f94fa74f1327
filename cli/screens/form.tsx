/** A form on the terminal: one question at a time below what was answered. Keys that come between two questions are dropped and never echoed. */
import { Box, type Instance, render, Static, Text, useWindowSize } from 'ink';
import { AppError } from '../../server/contract/errors.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import { GoBack, type Question, type QuestionWords, type Surface } from '../parts/question.ts';
import { QuestionScreen, responseLine } from './question.tsx';
import { Escapes } from './stage.tsx';

interface FormQuestion {
  readonly question: Question;
  readonly answer: PromiseWithResolvers<string>;
}

/** Lines that a question takes at most, with its choices. */
const linesOfQuestion = 14;

interface OpenLinesProps {
  readonly lines: readonly string[];
  readonly words: QuestionWords;
}

/** Answers that may still change: as many as there is room for, because a picture higher than the window cannot be renewed. */
function OpenLines({ lines, words }: OpenLinesProps) {
  const { rows } = useWindowSize();
  const most = Math.max(1, rows - linesOfQuestion);
  const left = lines.length > most ? lines.length - most + 1 : 0;
  return (
    <Box flexDirection="column">
      {left === 0 ? null : <Text dimColor>{words.more(left)}</Text>}
      {lines.slice(left).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines stay in their order
        <Text key={at}>{safeLine(line)}</Text>
      ))}
    </Box>
  );
}

export class TerminalForm implements Surface {
  readonly #words: QuestionWords;
  readonly #drawing: Instance;
  /** What stays, and what may still be taken away. */
  readonly #lines: string[] = [];
  #open: string[] = [];
  #count = 0;
  #asked: FormQuestion | null = null;
  #doing = '';

  constructor(words: QuestionWords) {
    this.#words = words;
    // Raw mode is on before anything is drawn: keys typed at once would be echoed into the form.
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    this.#drawing = render(this.#view(), { exitOnCtrlC: false, patchConsole: false, interactive: true });
  }

  ask(question: Question): Promise<string> {
    this.#asked = { question, answer: Promise.withResolvers<string>() };
    this.#count++;
    this.#draw();
    return this.#asked.answer.promise;
  }

  repeat(question: Question, answer: string): void {
    this.note(responseLine(question, answer, this.#words));
  }

  note(text: string): void {
    this.#open.push(...text.split('\n'));
    this.#draw();
  }

  settle(): void {
    this.#lines.push(...this.#open);
    this.#open = [];
    this.#draw();
  }

  reopen(): void {
    this.#open = [];
    this.#draw();
  }

  async during<Result>(work: Promise<Result>, doing: string): Promise<Result> {
    this.#doing = doing;
    this.#draw();
    try {
      return await work;
    } finally {
      this.#doing = '';
      this.#draw();
    }
  }

  async close(): Promise<void> {
    this.settle();
    this.#drawing.unmount();
    await this.#drawing.waitUntilExit();
  }

  readonly #answered = (input: string): void => {
    const asked = this.#asked;
    if (asked === null) return;
    this.#asked = null;
    this.note(responseLine(asked.question, input, this.#words));
    asked.answer.resolve(input);
  };

  readonly #goBack = (): void => {
    const asked = this.#asked;
    this.#asked = null;
    asked?.answer.reject(new GoBack());
  };

  readonly #cancel = (): void => this.#asked?.answer.reject(new AppError('cancelled'));

  readonly #interrupt = (): void => {
    const leave = () => process.exit(130);
    this.close().then(leave, leave);
  };

  #draw(): void {
    this.#drawing.rerender(this.#view());
  }

  #view() {
    return (
      <Escapes onCancel={this.#cancel} onInterrupt={this.#interrupt}>
        <Static items={[...this.#lines]}>{(line, index) => <Text key={index}>{safeLine(line)}</Text>}</Static>
        <Box flexDirection="column">
          <OpenLines lines={[...this.#open]} words={this.#words} />
          {this.#asked === null ? null : (
            <QuestionScreen
              key={this.#count}
              question={this.#asked.question}
              words={this.#words}
              onAnswer={this.#answered}
              onBack={this.#goBack}
            />
          )}
          {this.#doing === '' ? null : <Text dimColor>{safeLine(this.#doing)}…</Text>}
        </Box>
      </Escapes>
    );
  }
}
