// Drives an AG-UI server with the released web client, as CopilotKit does: each open call gets the next answer, then
// the agent runs again. Reads { url, text, tools, answers } from stdin and writes the messages to stdout.
import { HttpAgent } from "@ag-ui/client";
import { readFileSync } from "node:fs";

const { url, text, tools, answers } = JSON.parse(readFileSync(0, "utf8"));
const agent = new HttpAgent({ url });

function openCalls() {
  const answered = new Set(agent.messages.filter((it) => it.role === "tool").map((it) => it.toolCallId));
  return agent.messages.flatMap((it) => it.toolCalls ?? []).filter((it) => !answered.has(it.id));
}

// Right behind the message that made the call and the results already there, as CopilotKit inserts it.
function answer(call, content) {
  const messages = [...agent.messages];
  let place = messages.findIndex((it) => it.toolCalls?.some(({ id }) => id === call.id)) + 1;
  while (messages[place]?.role === "tool") place += 1;
  messages.splice(place, 0, { id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content });
  agent.setMessages(messages);
}

agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
await agent.runAgent({ tools });
for (let open = openCalls(); open.length; open = openCalls()) {
  for (const call of open) answer(call, answers.shift());
  await agent.runAgent({ tools });
}
process.stdout.write(JSON.stringify(agent.messages));
