/** A form on the terminal: one question at a time below what was answered. Keys that come between two questions are dropped and never echoed. */
import { Box, type Instance, render, Static, Text } from 'ink';
import { AppError } from '../../server/contract/errors.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Question, QuestionWords, Surface } from '../parts/question.ts';
import { QuestionScreen, responseLine } from './question.tsx';
import { Escapes } from './stage.tsx';

interface FormQuestion {
  readonly question: Question;
  readonly answer: PromiseWithResolvers<string>;
}

export class TerminalForm implements Surface {
  readonly #words: QuestionWords;
  readonly #drawing: Instance;
  readonly #lines: string[] = [];
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

  note(text: string): void {
    this.#lines.push(...text.split('\n'));
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
          {this.#asked === null ? null : (
            <QuestionScreen
              key={this.#count}
              question={this.#asked.question}
              words={this.#words}
              onAnswer={this.#answered}
            />
          )}
          {this.#doing === '' ? null : <Text dimColor>{safeLine(this.#doing)}…</Text>}
        </Box>
      </Escapes>
    );
  }
}
