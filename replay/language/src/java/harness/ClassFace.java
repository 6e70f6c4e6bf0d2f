// A part of the driver; see Driver.java.
package fillratedriver;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;

/** What other classes can see of a class. */
final class ClassFace {
    private static final int PRIVATE = 0x0002;
    private static final int ANNOTATION = 0x2000;
    private static final int SYNTHETIC = 0x1000;
    private static final Set<String> SEEN =
            Set.of(
                    "AnnotationDefault", "ConstantValue", "Deprecated", "Exceptions",
                    "InnerClasses", "PermittedSubclasses", "Record", "Signature");

    private final DataInputStream input;
    private final Object[] constants;
    private final StringBuilder face = new StringBuilder();
    /** Its name. */
    private String name;
    private boolean isAnnotation;
    private boolean isLocal;

    private ClassFace(DataInputStream input, int count) {
        this.input = input;
        constants = new Object[count];
    }

    /** A text that is equal for two versions of a class which no other can tell apart. */
    static String of(byte[] bytes) throws IOException {
        DataInputStream input = new DataInputStream(new ByteArrayInputStream(bytes));
        // The magic number and the version have eight bytes together.
        input.readLong();
        ClassFace face = new ClassFace(input, input.readUnsignedShort());
        face.readConstants();
        String read = face.readClass();
        // The compiler reads of an annotation's own annotations where it may stand.
        return face.isAnnotation ? Arrays.toString(bytes) : read;
    }

    private void readConstants() throws IOException {
        for (int index = 1; index < constants.length; index++) {
            int tag = input.readUnsignedByte();
            switch (tag) {
                case 1 -> constants[index] = input.readUTF();
                case 3, 4 -> constants[index] = tag + ":" + input.readInt();
                case 5, 6 -> {
                    constants[index] = tag + ":" + input.readLong();
                    // A `long` or `double` takes two entries of the constant pool (JVMS, §4.4.5).
                    index++;
                }
                // Each of these is the index of a text.
                case 7, 8, 16, 19, 20 -> constants[index] = input.readUnsignedShort();
                // A method handle has three bytes, and each of the others four.
                case 15 -> input.skipBytes(3);
                default -> input.skipBytes(4);
            }
        }
    }

    /** A constant with its length before it, so that none can contain the end of another. */
    private String constant(int index) {
        String text = text(index);
        return text.length() + ":" + text;
    }

    private String text(int index) {
        Object found = constants[index];
        return found instanceof Integer of ? text(of) : String.valueOf(found);
    }

    private String readClass() throws IOException {
        int access = input.readUnsignedShort();
        isAnnotation = (access & ANNOTATION) != 0;
        face.append(access);
        name = constant(input.readUnsignedShort());
        face.append(' ').append(name);
        face.append(' ').append(constant(input.readUnsignedShort()));
        for (int left = input.readUnsignedShort(); left > 0; left--) {
            face.append(' ').append(constant(input.readUnsignedShort()));
        }
        TreeSet<String> members = new TreeSet<>();
        // Fields, then methods: both have the same layout.
        for (int kind = 0; kind < 2; kind++) {
            for (int left = input.readUnsignedShort(); left > 0; left--) {
                int flags = input.readUnsignedShort();
                String member = constant(input.readUnsignedShort());
                String type = constant(input.readUnsignedShort());
                String rest = attributes(input);
                if ((flags & (PRIVATE | SYNTHETIC)) == 0) {
                    String whole = kind + " " + flags + " " + member + " " + type + rest;
                    members.add(whole.length() + ":" + whole);
                } else if (kind == 0 && (flags & SYNTHETIC) == 0) {
                    // It hides a field of that name that a class inherits.
                    members.add("private " + member);
                }
            }
        }
        String attributes = attributes(input);
        // No other class names one that is declared in a method.
        return isLocal ? "local" : face + "\n" + members + attributes;
    }

    /** The attributes that others see, without the order of the constants. */
    private String attributes(DataInputStream input) throws IOException {
        StringBuilder found = new StringBuilder();
        for (int left = input.readUnsignedShort(); left > 0; left--) {
            String attribute = text(input.readUnsignedShort());
            byte[] content = input.readNBytes(input.readInt());
            if (attribute.equals("EnclosingMethod")) {
                isLocal = true;
            } else if (SEEN.contains(attribute)) {
                String said = read(attribute, content);
                if (said != null) {
                    found.append('\n').append(attribute).append(' ').append(said);
                }
            }
        }
        return found.toString();
    }

    /** The part of an attribute that others see; null if there is none. */
    private String read(String attribute, byte[] content) throws IOException {
        DataInputStream input = new DataInputStream(new ByteArrayInputStream(content));
        switch (attribute) {
            case "ConstantValue", "Signature" -> {
                return constant(input.readUnsignedShort());
            }
            case "Record" -> {
                StringBuilder components = new StringBuilder();
                for (int left = input.readUnsignedShort(); left > 0; left--) {
                    components.append(constant(input.readUnsignedShort())).append(' ');
                    components.append(constant(input.readUnsignedShort()));
                    components.append(attributes(input)).append(' ');
                }
                return components.toString();
            }
            case "Exceptions", "PermittedSubclasses" -> {
                StringBuilder names = new StringBuilder();
                for (int left = input.readUnsignedShort(); left > 0; left--) {
                    names.append(constant(input.readUnsignedShort())).append(' ');
                }
                return names.toString();
            }
            case "InnerClasses" -> {
                TreeSet<String> inner = new TreeSet<>();
                for (int left = input.readUnsignedShort(); left > 0; left--) {
                    String of = constant(input.readUnsignedShort());
                    String outer = constant(input.readUnsignedShort());
                    // The simple name, which the full name contains.
                    input.readUnsignedShort();
                    int flags = input.readUnsignedShort();
                    // Others are only named in it, as is one by every class that joins texts.
                    if (outer.equals(name) || of.equals(name)) {
                        inner.add(of + " " + flags);
                    }
                }
                return inner.isEmpty() ? null : inner.toString();
            }
            default -> {
                // Seldom, and read as it is: at worst all is compiled again.
                return Arrays.toString(content);
            }
        }
    }
}
