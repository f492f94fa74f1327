import type { CommandRow } from '../../command.ts';

export const secretRows: readonly CommandRow[] = [
  {
    name: 'secrets rotate',
    zh: '更换主密钥并重新加密全部机密（需先停止所有节点）',
    en: 'replace the master key and re-encrypt all secrets (stop every node first)',
    flags: [
      { flag: '--keep-old', zh: '保留旧密钥文件（旧备份需要它）', en: 'keep the old key for older backups' },
      { flag: '--key-stdin', zh: '从标准输入读取新密钥', en: 'read the new key from standard input' },
      { flag: '--key-file <path>', zh: '从文件读取新密钥', en: 'read the new key from a file' },
    ],
    examples: ['secrets rotate --keep-old', 'secrets rotate --yes --key-file new-key'],
    load: async () => (await import('./rotate.ts')).rotate,
  },
];
