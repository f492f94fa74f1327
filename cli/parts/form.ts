/** Questions to a person: drawn where the terminal can be drawn on, plain lines everywhere else. */
import type { Context } from '../context.ts';
import { asNote, GoBack, type Question, type QuestionWords, type Surface } from './question.ts';

const wordsOf = ({ say }: Context): QuestionWords => ({
  noMatch: say('没有匹配项：退格删除，或用 ↑↓ 选择', 'nothing matches: delete with Backspace, then choose with ↑ ↓'),
  severalHint: say('空格选择 · 输入以筛选 · 回车完成', 'Space selects · type to narrow · Enter when done'),
  selected: (names) => say(`已选 ${names.length} 个：`, `${names.length} selected: `) + names.join(', '),
  lines: (count) => say(`${count} 个密钥，回车确认`, `keys: ${count}, Enter takes them`),
  needed: say('请输入', 'an answer is needed'),
  colon: say('：', ': '),
  fallback: (value) => say(`（${value}）`, ` (${value})`),
  oneLine: say('粘贴了多行，此处只能一行', 'several lines were pasted: only one fits here'),
  all: say('全部', 'all'),
  back: say('Shift-Tab 返回上一题', 'Shift-Tab goes back'),
  more: (count) => say(`… 上方还有 ${count} 行`, `… ${count} more above`),
});

/** The questions of one form, counted as they are asked. */
export class Form {
  readonly #surface: Surface;
  #total: number;
  #asked = 0;
  /** Answers of the part that is being filled in, and those of them that are given again after going back. */
  #answers: string[] = [];
  #again: string[] = [];
  /** By the words of a question: who went back need not type it again. */
  readonly #former = new Map<string, string>();

  constructor(surface: Surface, total: number) {
    this.#surface = surface;
    this.#total = total;
  }

  /** What follows is counted anew: whether it is asked was not known before. */
  count(total: number): void {
    this.#asked = 0;
    this.#total = total;
  }

  /** The last questions are asked once more: their numbers come again. */
  repeat(questions: number): void {
    this.#asked -= questions;
  }

  /**
   * Questions among which one may go back: `fill` begins anew then, and is given the answers before. So it asks and
   * reads, and changes nothing. @throws AppError cancelled, input_needed.
   */
  async part<Result>(fill: () => Promise<Result>): Promise<Result> {
    const [asked, total] = [this.#asked, this.#total];
    for (;;) {
      this.#asked = asked;
      this.#total = total;
      this.#answers = [];
      try {
        const result = await fill();
        this.#answers = [];
        this.#former.clear();
        this.#surface.settle();
        return result;
      } catch (error) {
        if (!(error instanceof GoBack)) throw error;
        this.#answers.pop();
        this.#again = this.#answers;
        this.#surface.reopen();
      }
    }
  }

  /** @throws AppError cancelled, input_needed. */
  async ask(asked: Question): Promise<string> {
    if (asked.follows !== true) this.#asked++;
    const question = { ...asked, step: `${this.#asked}/${this.#total}` };
    const known = this.#again.shift();
    if (known !== undefined) {
      this.#answers.push(known);
      this.#surface.repeat(question, known);
      return known;
    }
    const before = this.#former.get(asked.label);
    const returns = this.#answers.length > 0;
    const answer = await this.#surface.ask({ ...question, returns, ...(before === undefined ? {} : { before }) });
    this.#answers.push(answer);
    // What was proposed is proposed anew: by then it may be something else.
    if (asked.secret !== true && answer !== asked.fallback) this.#former.set(asked.label, answer);
    else this.#former.delete(asked.label);
    return answer;
  }

  /** A question that only comes up where something went wrong: it is not counted. */
  askRest(question: Question): Promise<string> {
    return this.#surface.ask(question);
  }

  note(text: string): void {
    this.#surface.note(asNote(text));
  }

  during<Result>(work: Promise<Result>, doing: string): Promise<Result> {
    return this.#surface.during(work, doing);
  }
}

/** Opens a form, fills it in and takes it down again, however it ends. @param total questions, as far as is known. */
export async function inForm<Result>(
  context: Context,
  total: number,
  fill: (form: Form) => Promise<Result>,
): Promise<Result> {
  const surface = context.screens
    ? new (await import('../screens/form.tsx')).TerminalForm(wordsOf(context))
    : plainSurface(context);
  try {
    const form = new Form(surface, total);
    return await fill(form);
  } finally {
    await surface.close();
  }
}

/** What is on a line stays there: nobody goes back. */
const plainSurface = (context: Context): Surface => ({
  ask: (question) => plainAnswer(context, question),
  repeat: () => undefined,
  note: context.output.note,
  settle: () => undefined,
  reopen: () => undefined,
  during: (work, doing) => context.during(work, () => doing),
  close: () => Promise.resolve(),
});

const maxListed = 8;

async function plainAnswer(context: Context, question: Question): Promise<string> {
  const { choices, fallback, step, hint } = question;
  const listed = choices !== undefined && choices.length <= maxListed;
  if (hint !== undefined) context.output.note(`  ${hint}`);
  if (listed) for (const [index, choice] of choices.entries()) context.output.note(`  ${index + 1}  ${choice.label}`);
  const before = step === undefined ? '' : `${step} `;
  const suffix = fallback === undefined ? '' : wordsOf(context).fallback(fallback);
  for (;;) {
    const typed = await context.ask(`${before}${question.label}${suffix}${context.say('：', ': ')}`, {
      hidden: question.secret === true,
      list: question.lines === true,
    });
    const answer = promptText(question, typed.trim() || fallback || '', listed);
    const wrong = answer === null ? choiceHint(context, question, listed) : issueOf(context, question, answer);
    if (wrong === null && answer !== null) return answer;
    if (wrong !== null) context.output.note(asNote(wrong));
  }
}

/** @returns null = not among the choices. */
function promptText({ choices, several, open, optional }: Question, text: string, listed: boolean): string | null {
  if (choices === undefined || (text === '' && optional === true)) return text;
  const chosenBy = (word: string) =>
    choices.find((choice) => choice.value === word)?.value ?? (listed ? choices[Number(word) - 1]?.value : undefined);
  const words = several === true ? text.split(/[,\s]+/).filter((word) => word !== '') : [text];
  const found = words.map((word) => chosenBy(word) ?? (open === true ? word : null));
  return text === '' || found.includes(null) ? null : found.join(',');
}

function choiceHint({ say }: Context, { choices = [] }: Question, listed: boolean): string {
  const names = choices.map((choice) => choice.value).join(', ');
  return listed
    ? say(
        `请输入编号 1-${choices.length} 或名称：${names}`,
        `write a number from 1 to ${choices.length}, or a name: ${names}`,
      )
    : say(`请输入其中之一：${names}`, `write one of: ${names}`);
}

const issueOf = (context: Context, { check, optional, fallback }: Question, answer: string): string | null =>
  answer === '' && optional !== true && fallback === undefined ? wordsOf(context).needed : (check?.(answer) ?? null);
