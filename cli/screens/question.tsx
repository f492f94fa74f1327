/** One question: a line, a masked secret, or choices that narrow while one types. */
import { Box, Text, useInput, usePaste, useWindowSize } from 'ink';
import { useEffect, useReducer, useRef } from 'react';
import { keysIn } from '../../server/contract/channel-keys.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import { asNote, type Choice, type Question, type QuestionWords } from '../parts/question.ts';
import { withInput } from '../parts/secret-input.ts';
import { bestMatch } from '../parts/suggest.ts';
import { shorten } from '../table.ts';

const maxChoices = 8;
/** Lines around the choices: the question, a hint, a complaint, the cursor's own. */
const linesAround = 6;

interface State {
  readonly text: string;
  /** Position among the choices that are left. */
  readonly at: number;
  readonly selected: readonly string[];
  readonly wrong: string;
  readonly answer: string | null;
}

/** What was answered before stands there again; a secret does not. */
function begin({ choices, several, secret, before = '' }: Question): State {
  const none: State = { text: '', at: 0, selected: [], wrong: '', answer: null };
  if (choices === undefined) return secret === true ? none : { ...none, text: before };
  const known = before.split(',').filter((name) => choices.some(({ value }) => value === name));
  if (several === true) return { ...none, selected: known };
  const at = choices.findIndex(({ value }) => value === before);
  return at < 0 ? { ...none, text: before } : { ...none, at };
}

interface QuestionProps {
  readonly question: Question;
  readonly words: QuestionWords;
  readonly onAnswer: (text: string) => void;
  /** Called where the question may be left for the one before. */
  readonly onBack: () => void;
}

/** Those that have the text in them; where none has, the one that is spelled nearly so. */
function matching({ choices = [], open }: Question, text: string): readonly Choice[] {
  const found = choices.filter((choice) => choice.label.toLowerCase().includes(text.toLowerCase()));
  if (found.length > 0 || open === true || text.length < minGuess) return found;
  const near = bestMatch(
    text,
    choices.map(({ value }) => value),
  );
  return choices.filter(({ value }) => value === near);
}

/** Shorter words are near to too many. */
const minGuess = 4;

const toggled = (selected: readonly string[], value: string): readonly string[] =>
  selected.includes(value) ? selected.filter((one) => one !== value) : [...selected, value];

/** What Enter makes of the state. */
function entered(question: Question, words: QuestionWords, state: State): State {
  const { text, at, selected } = state;
  const { choices, several, open, fallback = '', optional, check } = question;
  const picked = choices === undefined ? undefined : matching(question, text)[at]?.value;
  if (several === true && text !== '') {
    const named = picked ?? (open === true ? text.trim() : undefined);
    return named === undefined
      ? { ...state, wrong: words.noMatch }
      : { ...state, text: '', at: 0, wrong: '', selected: toggled(selected, named) };
  }
  if (choices !== undefined && several !== true && picked === undefined && (open !== true || text === ''))
    return { ...state, wrong: words.noMatch };
  const answer = several === true ? selected.join(',') : choices === undefined ? text || fallback : (picked ?? text);
  if (answer === '' && optional !== true && several !== true && choices === undefined)
    return { ...state, wrong: words.needed };
  const wrong = check?.(answer) ?? null;
  if (wrong !== null) return { ...state, wrong, ...(question.secret === true ? { text: '' } : {}) };
  return { ...state, answer: answer, wrong: '' };
}

type Event =
  | { readonly kind: 'move'; readonly by: number }
  | { readonly kind: 'erase' }
  | { readonly kind: 'pick' }
  | { readonly kind: 'input'; readonly text: string };

function next(question: Question, words: QuestionWords, state: State, event: Event): State {
  if (state.answer !== null) return state;
  switch (event.kind) {
    case 'move': {
      const last = Math.max(0, matching(question, state.text).length - 1);
      return { ...state, at: Math.min(last, Math.max(0, state.at + event.by)) };
    }
    case 'erase':
      return { ...state, text: [...state.text].slice(0, -1).join(''), at: 0, wrong: '' };
    case 'pick': {
      const picked = matching(question, state.text)[state.at]?.value;
      return picked === undefined
        ? { ...state, wrong: words.noMatch }
        : { ...state, selected: toggled(state.selected, picked), wrong: '' };
    }
    case 'input': {
      const { text, whole, left } = withInput(state.text, event.text, question.lines === true);
      if (left) return { ...state, text: '', at: 0, wrong: words.oneLine };
      const typed = { ...state, text, at: text === state.text ? state.at : 0, wrong: '' };
      return whole ? entered(question, words, typed) : typed;
    }
  }
}

export function QuestionScreen({ question, words, onAnswer, onBack }: QuestionProps) {
  const [state, send] = useReducer((now: State, event: Event) => next(question, words, now, event), question, begin);
  const { columns, rows } = useWindowSize();
  const { text, at, selected, wrong, answer } = state;
  const done = useRef(false);
  // Once it was drawn: the last picture is what remains.
  useEffect(() => {
    if (answer === null || done.current) return;
    done.current = true;
    onAnswer(answer);
  }, [answer, onAnswer]);
  useInput((input, key) => {
    if (key.ctrl || key.meta || key.escape) return;
    if (key.tab) {
      if (key.shift && question.returns === true) onBack();
      return;
    }
    if (key.upArrow || key.downArrow) send({ kind: 'move', by: key.downArrow ? 1 : -1 });
    else if (key.backspace || key.delete) send({ kind: 'erase' });
    else if (question.several === true && input === ' ') send({ kind: 'pick' });
    else send({ kind: 'input', text: key.return ? '\n' : input });
  });
  usePaste((pasted) => send({ kind: 'input', text: pasted }));
  if (answer !== null) return null;
  const label = labelOf(question);
  const fallback = question.fallback === undefined ? '' : words.fallback(safeLine(question.fallback));
  const head = shorten(`${label}${fallback}${words.colon}`, Math.max(10, Math.floor(columns * 0.7)));
  const choices = matching(question, text);
  const hints = [
    question.several === true ? words.severalHint : '',
    question.hint ?? '',
    question.returns === true ? words.back : '',
  ].filter((one) => one !== '');
  const count = question.lines === true ? keysIn(text).length : 0;
  return (
    <Box flexDirection="column">
      <Text>
        {head}
        {ending(question.secret === true ? '*'.repeat(text.length) : text, columns - Bun.stringWidth(head) - 2)}
        <Text inverse> </Text>
      </Text>
      {question.choices === undefined ? null : (
        <Choices
          choices={choices}
          at={at}
          selected={question.several === true ? selected : null}
          maxRows={Math.max(1, Math.min(maxChoices, rows - linesAround))}
        />
      )}
      {selected.length === 0 ? null : (
        <Text wrap="truncate">
          {'  '}
          {safeLine(words.selected(selected))}
        </Text>
      )}
      {count > 1 ? (
        <Text wrap="truncate">
          {'  '}
          {words.lines(count)}
        </Text>
      ) : null}
      {hints.map((hint) => (
        <Text key={hint} dimColor wrap="truncate">
          {'  '}
          {hint}
        </Text>
      ))}
      {wrong === '' && (choices.length > 0 || question.choices === undefined || question.open === true) ? null : (
        <Text color="yellow">
          {'  '}
          {safeLine(wrong === '' ? words.noMatch : asNote(wrong))}
        </Text>
      )}
    </Box>
  );
}

/** The end of a text, where one types. */
function ending(text: string, cells: number): string {
  const line = safeLine(text.replaceAll('\n', ' '));
  const maxRows = Math.max(4, cells);
  if (Bun.stringWidth(line) <= maxRows) return line;
  let visible = line;
  while (Bun.stringWidth(visible) > maxRows - 1) visible = visible.slice(1);
  return `…${visible}`;
}

const labelOf = ({ step, label }: Question): string => `${step === undefined ? '' : `${step} `}${safeLine(label)}`;

/** What stays of a question once it was answered; of a secret its length at most. */
export const responseLine = (question: Question, answer: string, words: QuestionWords): string =>
  `${labelOf(question)}${words.colon}${responseText(question, answer, words)}`;

const responseText = ({ secret, choices, several, lines }: Question, answer: string, words: QuestionWords): string => {
  if (secret === true) {
    const count = lines === true ? keysIn(answer).length : 1;
    return '*'.repeat(Math.min(answer.length, 8)) + (count > 1 ? ` ×${count}` : '');
  }
  if (several === true) return answer === '' ? words.all : answer;
  return safeLine(choices?.find(({ value }) => value === answer)?.label ?? answer);
};

interface ChoicesProps {
  readonly choices: readonly Choice[];
  readonly at: number;
  /** null = one is chosen. */
  readonly selected: readonly string[] | null;
  readonly maxRows: number;
}

function Choices({ choices, at, selected, maxRows }: ChoicesProps) {
  const first = Math.max(0, Math.min(at - maxRows + 1, choices.length - maxRows));
  const box = (value: string): string => (selected === null ? '' : selected.includes(value) ? '[x] ' : '[ ] ');
  return (
    <Box flexDirection="column">
      {choices.slice(first, first + maxRows).map((choice, index) => (
        <Text key={choice.value} wrap="truncate" bold={first + index === at}>
          {first + index === at ? '> ' : '  '}
          {box(choice.value)}
          {safeLine(choice.label)}
        </Text>
      ))}
      {choices.length > maxRows ? (
        <Text dimColor>
          {'  '}
          {at + 1}/{choices.length}
        </Text>
      ) : null}
    </Box>
  );
}
